//! The entities that the library replicates. Each has one component, a record of the world.

use std::any::Any;
use std::collections::HashMap;

use naia_shared::{
    ComponentFieldUpdate, ComponentKind, ComponentKinds, ComponentUpdate, EntityAndGlobalEntityConverter, GlobalWorldManagerType,
    LocalEntityAndGlobalEntityConverter, ReplicaDynMutWrapper, ReplicaDynRefWrapper, ReplicaMutTrait, ReplicaMutWrapper,
    ReplicaRefTrait, ReplicaRefWrapper, Replicate, SerdeErr, WorldMutType, WorldRefType,
};

pub type Entity = u64;
type Components = HashMap<ComponentKind, Box<dyn Replicate>>;

#[derive(Default)]
pub struct Store {
    entities: HashMap<Entity, Components>,
    made: Entity,
}

impl Store {
    /// Returns a component of an entity.
    pub fn component_of<R: Replicate>(&self, entity: Entity) -> Option<&R> {
        self.entities.get(&entity)?.get(&ComponentKind::of::<R>())?.to_any().downcast_ref()
    }

    fn boxed_mut(&mut self, entity: Entity, kind: ComponentKind) -> Option<&mut Box<dyn Replicate>> {
        self.entities.get_mut(&entity)?.get_mut(&kind)
    }
}

struct Own<R>(R);

impl<R: Replicate> ReplicaRefTrait<R> for Own<&R> {
    fn to_ref(&self) -> &R {
        self.0
    }
}

impl<R: Replicate> ReplicaRefTrait<R> for Own<&mut R> {
    fn to_ref(&self) -> &R {
        self.0
    }
}

impl<R: Replicate> ReplicaMutTrait<R> for Own<&mut R> {
    fn to_mut(&mut self) -> &mut R {
        self.0
    }
}

/// The questions of the library about entities that it only looks at, for a shared and for an own reference to the store.
macro_rules! looks {
    ($reference:ty) => {
        impl WorldRefType<Entity> for $reference {
            fn has_entity(&self, entity: &Entity) -> bool {
                self.entities.contains_key(entity)
            }

            fn entities(&self) -> Vec<Entity> {
                self.entities.keys().copied().collect()
            }

            fn has_component<R: Replicate>(&self, entity: &Entity) -> bool {
                self.has_component_of_kind(entity, &ComponentKind::of::<R>())
            }

            fn has_component_of_kind(&self, entity: &Entity, kind: &ComponentKind) -> bool {
                self.entities.get(entity).is_some_and(|components| components.contains_key(kind))
            }

            fn component<'a, R: Replicate>(&'a self, entity: &Entity) -> Option<ReplicaRefWrapper<'a, R>> {
                self.component_of::<R>(*entity).map(|component| ReplicaRefWrapper::new(Own(component)))
            }

            fn component_of_kind<'a>(&'a self, entity: &Entity, kind: &ComponentKind) -> Option<ReplicaDynRefWrapper<'a>> {
                let component = self.entities.get(entity)?.get(kind)?;
                Some(ReplicaDynRefWrapper::new(component.dyn_ref()))
            }
        }
    };
}

looks!(&Store);
looks!(&mut Store);

impl WorldMutType<Entity> for &mut Store {
    fn spawn_entity(&mut self) -> Entity {
        self.made += 1;
        let entity = self.made;
        self.entities.insert(entity, Components::new());
        entity
    }

    fn local_duplicate_entity(&mut self, entity: &Entity) -> Entity {
        let copy = self.spawn_entity();
        self.local_duplicate_components(&copy, entity);
        copy
    }

    fn local_duplicate_components(&mut self, copy: &Entity, entity: &Entity) {
        let components =
            self.entities.get(entity).map(|own| own.values().map(|component| component.copy_to_box()).collect::<Vec<_>>());
        for component in components.unwrap_or_default() {
            self.insert_boxed_component(copy, component);
        }
    }

    fn despawn_entity(&mut self, entity: &Entity) {
        self.entities.remove(entity);
    }

    fn component_kinds(&mut self, entity: &Entity) -> Vec<ComponentKind> {
        self.entities.get(entity).map(|components| components.keys().copied().collect()).unwrap_or_default()
    }

    fn component_mut<'a, R: Replicate>(&'a mut self, entity: &Entity) -> Option<ReplicaMutWrapper<'a, R>> {
        let component = self.boxed_mut(*entity, ComponentKind::of::<R>())?.to_any_mut().downcast_mut::<R>()?;
        Some(ReplicaMutWrapper::new(Own(component)))
    }

    fn component_mut_of_kind<'a>(&'a mut self, entity: &Entity, kind: &ComponentKind) -> Option<ReplicaDynMutWrapper<'a>> {
        Some(ReplicaDynMutWrapper::new(self.boxed_mut(*entity, *kind)?.dyn_mut()))
    }

    fn component_apply_update(
        &mut self,
        converter: &dyn LocalEntityAndGlobalEntityConverter,
        entity: &Entity,
        kind: &ComponentKind,
        update: ComponentUpdate,
    ) -> Result<(), SerdeErr> {
        self.boxed_mut(*entity, *kind).map_or(Ok(()), |component| component.read_apply_update(converter, update))
    }

    fn component_apply_field_update(
        &mut self,
        converter: &dyn LocalEntityAndGlobalEntityConverter,
        entity: &Entity,
        kind: &ComponentKind,
        update: ComponentFieldUpdate,
    ) -> Result<(), SerdeErr> {
        self.boxed_mut(*entity, *kind).map_or(Ok(()), |component| component.read_apply_field_update(converter, update))
    }

    fn mirror_entities(&mut self, entity: &Entity, other: &Entity) {
        for kind in self.component_kinds(other) {
            self.mirror_components(entity, other, &kind);
        }
    }

    fn mirror_components(&mut self, entity: &Entity, other: &Entity, kind: &ComponentKind) {
        let copy = self.boxed_mut(*other, *kind).map(|component| component.copy_to_box());
        if let (Some(copy), Some(component)) = (copy, self.boxed_mut(*entity, *kind)) {
            component.mirror(copy.as_ref());
        }
    }

    fn insert_component<R: Replicate>(&mut self, entity: &Entity, component: R) {
        self.insert_boxed_component(entity, Box::new(component));
    }

    fn insert_boxed_component(&mut self, entity: &Entity, component: Box<dyn Replicate>) {
        if let Some(components) = self.entities.get_mut(entity) {
            components.insert(component.kind(), component);
        }
    }

    fn remove_component<R: Replicate>(&mut self, entity: &Entity) -> Option<R> {
        let removed = self.remove_component_of_kind(entity, &ComponentKind::of::<R>())?;
        Box::<dyn Any>::downcast::<R>(removed.to_boxed_any()).ok().map(|component| *component)
    }

    fn remove_component_of_kind(&mut self, entity: &Entity, kind: &ComponentKind) -> Option<Box<dyn Replicate>> {
        self.entities.get_mut(entity)?.remove(kind)
    }

    fn entity_publish(
        &mut self,
        kinds: &ComponentKinds,
        converter: &dyn EntityAndGlobalEntityConverter<Entity>,
        manager: &dyn GlobalWorldManagerType,
        entity: &Entity,
    ) {
        for kind in self.component_kinds(entity) {
            self.component_publish(kinds, converter, manager, entity, &kind);
        }
    }

    fn component_publish(
        &mut self,
        kinds: &ComponentKinds,
        converter: &dyn EntityAndGlobalEntityConverter<Entity>,
        manager: &dyn GlobalWorldManagerType,
        entity: &Entity,
        kind: &ComponentKind,
    ) {
        if let (Some(component), Ok(global)) = (self.boxed_mut(*entity, *kind), converter.entity_to_global_entity(entity)) {
            let mutator = manager.register_component(kinds, &global, kind, component.diff_mask_size());
            component.publish(&mutator);
        }
    }

    fn entity_unpublish(&mut self, entity: &Entity) {
        for kind in self.component_kinds(entity) {
            self.component_unpublish(entity, &kind);
        }
    }

    fn component_unpublish(&mut self, entity: &Entity, kind: &ComponentKind) {
        if let Some(component) = self.boxed_mut(*entity, *kind) {
            component.unpublish();
        }
    }

    // The server alone has authority, so the library never asks for the rest.

    fn entity_enable_delegation(
        &mut self,
        _: &ComponentKinds,
        _: &dyn EntityAndGlobalEntityConverter<Entity>,
        _: &dyn GlobalWorldManagerType,
        _: &Entity,
    ) {
    }

    fn component_enable_delegation(
        &mut self,
        _: &ComponentKinds,
        _: &dyn EntityAndGlobalEntityConverter<Entity>,
        _: &dyn GlobalWorldManagerType,
        _: &Entity,
        _: &ComponentKind,
    ) {
    }

    fn entity_disable_delegation(&mut self, _: &Entity) {}

    fn component_disable_delegation(&mut self, _: &Entity, _: &ComponentKind) {}
}
