module tickdisk/players/java

go 1.24

require tickdisk/players v0.0.0

replace tickdisk/players => ../
